// Package pipeline performs calls: it owns waiting, bodies, classification and
// events, and knows no numbers.
package pipeline
