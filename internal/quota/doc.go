// Package quota knows what providers of AI models send: what a request will cost ([Estimate]), what it did cost
// ([Meter]), what is left of the quota ([ReadLimits], [Wait]), and what an error means ([Classify]).
//
// Everything is a function of bytes, headers and a time that the caller gives. Nothing is sent, nothing is waited for,
// and no input makes it fail: what can't be read is not told. The providers are OpenAI, Azure OpenAI, Anthropic and
// Gemini, and the many that copy one of them.
package quota
