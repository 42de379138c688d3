// Package telemetry has the tests of what leaves through Builder.OpenTelemetry: with OpenTelemetry's own SDK,
// which is a module of its own, so that users of the library never download it.
package telemetry
