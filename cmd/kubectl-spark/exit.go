// SPDX-License-Identifier: Apache-2.0

package main

// exitError ends the program with a code of its own.
type exitError struct {
	code int
	err  error
}

// Error returns the words of the error inside.
func (e *exitError) Error() string { return e.err.Error() }

func (e *exitError) Unwrap() error { return e.err }
