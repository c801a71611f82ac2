//go:build !unix

package tree

// nonblock is nothing where no file can make an opening wait.
const nonblock = 0
