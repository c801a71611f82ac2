// Package snapshot seals the files of a subject in one document, and admits folders that hold exactly what such a document seals.
package snapshot
