package confine

// Stage is the first call of main and of every TestMain: when this process was started as a stage of a backend, it takes over and does not
// return. (The native Linux backend takes over before main, in a C constructor; others need the hook.)
func Stage() {
	for _, b := range backends {
		if b.Stage != nil {
			b.Stage()
		}
	}
}
