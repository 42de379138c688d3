// Package history remembers what the calls of one state did over the last minutes: counts in buckets of time, the last
// refusals, and the last changes of circuit breakers. It is told the time, keeps no more than it was made for, and starts
// neither a goroutine nor a timer.
package history
