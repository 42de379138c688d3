// Package httptestx is the fault-injecting companion of [net/http/httptest]: a
// real HTTP server that misbehaves on demand, and remembers what it did.
//
//	srv := httptestx.NewServer(t, handler)
//	srv.On("POST /orders").Script(httptestx.LostResponse) // processed, then the answer is lost
//	_, err := srv.Client().Post(srv.URL+"/orders", "application/json", body)
//	t.Log(err) // read: connection reset by peer
//	httptestx.AtMostOnce(t, srv)
//
// That is a lost response in five lines of a test; handler is any [net/http.Handler], and nothing needs
// to be closed. The guide has a recipe for each fault:
// https://github.com/a-seed-e0941262/resilient/blob/main/docs/guides/testing.md
//
// # Plans
//
// A plan is the ordered list of what the server does with one request, and
// running the handler is one of the steps. Where a fault stands relative to
// [Handle] is the truth about whether the request was processed:
//
//	Plan(Read, Reset)                     // read, not processed, connection reset
//	Plan(Handle, Reset)                   // processed, answer lost: LostResponse
//	Plan(Handle, Send(10), Reset)         // processed, answer cut: TruncatedBody(10)
//	Plan(Status(503, "Retry-After", "2")) // refused without the handler
//	Plan(Delay(time.Second), Handle)      // slow
//
// A request without a plan is served by the handler, streaming and all, as
// net/http does it.
//
// # Rules
//
// [Server.On] starts a rule: a [net/http.ServeMux] pattern, narrowed by methods
// such as [Rule.Per], [Rule.Nth] or [Rule.Prob], and ended by [Rule.Do] (every
// match), [Rule.Script] (one plan a match) or [Rule.Func]. The first rule that
// applies wins, in the order in which the rules were ended.
//
// The same rules can be data: [Server.LoadRules] reads them from a JSON document, and so does the
// command in cmd/httptestx, which serves, or stands in front of a real server, for tests in other
// languages.
//
// # Networks
//
// A server lives in memory until [Server.Start] is called: no port, no kernel,
// the same error value in every run, and usable in a [testing/synctest] bubble,
// where an outage of a minute costs no time. Create the server inside the
// bubble. In memory only [Server.Client] and [Server.DialContext] reach it; both
// connect to it whatever the address, so one server can play several hosts.
// Other clients and processes need Start.
//
// The in-memory connection fails as Linux TCP does: after a reset the bytes
// that had arrived stay readable, then reads fail with ECONNRESET and writes
// with EPIPE; closing a connection with unread input resets it. Other systems
// may drop the bytes. On loopback the kernel decides, and which goroutine of
// the client meets the reset first is a race: test for a set of errors there.
//
// # Protocols
//
// Without options a server speaks HTTP/1.1 in cleartext. [WithProtocols] makes it HTTP/2 as well or
// instead, [WithTLS] or [Server.StartTLS] adds TLS, and [Server.Client] speaks and trusts what there
// is. On HTTP/2 a request is a stream of a connection that others share. [ResetStream],
// [RefuseStream] and [GoAway] end streams; [Reset] and [Close] (there a GOAWAY, then a FIN) end the
// connection, and with it the other exchanges on it. [Server.OnConn] is for what goes wrong before there
// is a request: [Refuse], [Accept] and stay silent, [HandshakeFail], [NoSuchHost].
//
// # What happened
//
// [Server.Exchanges] lists the requests in order of arrival, with what was read
// of each, whether the handler ran, what was sent and how it ended. A record is
// written before the client can see what it says: a client that has the whole
// answer, or the error, finds the exchange ended. [Server.Ledger] counts by
// idempotency key, and [AtMostOnce], [ExactlyOnce] and [Arrivals] assert; their
// failures print the time-line. [Ledger.Resent] tells what net/http may have sent again by itself, and
// [Server.Connections] how well connections are used. A client that does not close the body of an answer keeps a
// bubble from ending; in memory the server names the request at the end of the test. [Server.Forget] begins anew.
package httptestx
