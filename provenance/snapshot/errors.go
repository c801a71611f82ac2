package snapshot

// CodeSubject is the code of a refusal to admit a folder: it is not the sealed subject. A code is matched exactly.
const CodeSubject = "ADMISSION_SUBJECT"
