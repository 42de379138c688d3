// Package sdks has the clients of OpenAI, Azure OpenAI, Anthropic, Azure's SDKs and Amazon Bedrock on this library's
// transport, against a server in memory: how each is given the client, what becomes of a refusal, a stream, a second
// deployment, and what it costs to leave its own retries on. docs/guides/ai.md shows and explains it.
package sdks
