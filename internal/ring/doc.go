// Package ring counts events over a sliding span of time.
//
// [Window] is for the retry budget: many goroutines, no lock, and a retry is admitted only on counts that nobody
// outran. [Buckets] is for the circuit breaker, which has a lock already: ten sums, emptied as time passes over them.
//
// Both are told the time and never ask for it. Now is the monotonic time since a base that the caller chose once, such
// as the process's start. A value that goes back freezes the window where it is; a negative one counts as zero.
package ring
