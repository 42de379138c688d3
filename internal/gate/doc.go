// Package gate decides whether something may go ahead: a retry ([Budget]), an attempt ([Breaker], [Bucket], [Throttle]),
// a call ([Limit]).
//
// A gate is told the time and never asks for it, never sleeps, never calls back, and knows no HTTP. What it has to say
// it returns: a decision, a ticket to settle later, a transition for the caller to report once no lock is held. No
// decision allocates, apart from one snapshot of a budget per bucket of time and a place in a limit's queue.
//
// Now is the monotonic time since a base that the caller chose once, such as the process's start, the same for every
// call to one gate. A value that goes back is taken for the latest one seen, but for [Throttle], which keeps none, so that
// looking need not write; a negative one counts as zero.
//
// Settings can change while a gate is in use. Its state stays: Configure forgets nothing, decides nothing, and takes
// back nothing that was admitted.
//
// Ratios are integers, in parts per million. A constructor panics on settings that make no sense: users' settings are
// validated where they have names.
package gate
