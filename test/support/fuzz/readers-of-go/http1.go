package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"regexp"
	"strings"
)

const mostHeadBytes = 1 << 20

// seenRequest is SeenRequest of request-reading.ts.
type seenRequest struct {
	Method     string   `json:"method"`
	Target     string   `json:"target"`
	Version    string   `json:"version"`
	Fields     []string `json:"fields"`
	Body       string   `json:"body"`
	Trailers   []string `json:"trailers"`
	Complete   bool     `json:"complete"`
	Persistent bool     `json:"persistent"`
	TurnedAway *string  `json:"turnedAway"`
}

// requestsReading is RequestsReading of request-reading.ts.
type requestsReading struct {
	Requests []*seenRequest `json:"requests"`
	Outcome  string         `json:"outcome"`
	Why      string         `json:"why"`
	Status   int            `json:"status"`
}

// errNothingMore is met behind the last byte. As a timeout, the server does not answer it, as it answers what it refuses.
var errNothingMore net.Error = nothingMore{}

type nothingMore struct{}

func (nothingMore) Error() string   { return "nothing more" }
func (nothingMore) Timeout() bool   { return true }
func (nothingMore) Temporary() bool { return false }

// oneConn accepts one connection.
type oneConn struct{ conn chan net.Conn }

func (l oneConn) Accept() (net.Conn, error) {
	conn, ok := <-l.conn
	if !ok {
		return nil, io.EOF
	}
	return conn, nil
}
func (l oneConn) Close() error   { return nil }
func (l oneConn) Addr() net.Addr { return &net.TCPAddr{} }

func readRequests(message []byte) *requestsReading {
	reading := &requestsReading{Requests: []*seenRequest{}, Outcome: "between"}
	conn := newMemoryConn(message, errNothingMore)
	server := http.Server{
		DisableGeneralOptionsHandler: true,
		MaxHeaderBytes:               mostHeadBytes,
		Handler:                      http.HandlerFunc(reading.take),
	}
	listener := oneConn{make(chan net.Conn, 1)}
	listener.conn <- conn
	close(listener.conn)
	server.Serve(listener)
	conn.wait(func() bool { return false })
	reading.judge(string(conn.written))
	if reading.Why == "400 Bad Request" {
		reading.Why = whyRefused(message)
	}
	return reading
}

// whyRefused finds what the server keeps to itself.
func whyRefused(message []byte) string {
	for in := bufio.NewReader(bytes.NewReader(message)); ; {
		request, err := http.ReadRequest(in)
		if err == nil {
			_, err = io.Copy(io.Discard, request.Body)
		}
		if err != nil {
			return quoted.ReplaceAllString(latin1(err.Error()), "…")
		}
	}
}

var quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

func (reading *requestsReading) take(response http.ResponseWriter, r *http.Request) {
	seen := &seenRequest{Method: latin1(r.Method), Target: latin1(r.RequestURI), Version: strings.TrimPrefix(r.Proto, "HTTP/"), Trailers: []string{}}
	reading.Requests = append(reading.Requests, seen)
	seen.Fields = pairs(r.Header)
	if r.Host != "" {
		seen.Fields = append(seen.Fields, "Host", latin1(r.Host))
	}
	body, err := io.ReadAll(r.Body)
	seen.Body = latin1(body)
	seen.Complete = err == nil
	if err != nil && !errors.Is(err, errNothingMore) {
		reading.Outcome, reading.Why = "refused", err.Error()
	}
	response.Header().Set("Content-Length", "0")
}

// judge looks at the responses: a server refuses by one that no handler gave.
func (reading *requestsReading) judge(written string) {
	responses := strings.SplitAfter(strings.ReplaceAll(written, "HTTP/1.1 100 Continue\r\n\r\n", ""), "\r\n\r\n")
	for i, request := range reading.Requests {
		closes := strings.Contains(responses[i], "Connection: close")
		request.Persistent = request.Complete && !closes && (request.Version != "1.0" || strings.Contains(responses[i], "Connection: keep-alive"))
		if !request.Complete && reading.Outcome != "refused" {
			reading.Outcome = "inside"
		}
	}
	if len(responses) > len(reading.Requests)+1 {
		line, _, _ := strings.Cut(responses[len(reading.Requests)], "\r\n")
		reading.Outcome, reading.Why = "refused", strings.TrimPrefix(line, "HTTP/1.1 ")
	}
}

// responseReading is Reading of reading.ts.
type responseReading struct {
	Outcome  string   `json:"outcome"`
	Why      string   `json:"why"`
	Interim  [][2]any `json:"interim"`
	Status   int      `json:"status"`
	Reason   string   `json:"reason"`
	Fields   []string `json:"fields"`
	Body     string   `json:"body"`
	Trailers []string `json:"trailers"`
}

func readResponse(message []byte, isHead bool) *responseReading {
	reading := &responseReading{Outcome: "part", Interim: [][2]any{}, Fields: []string{}, Trailers: []string{}}
	conn := newMemoryConn(message, io.EOF)
	conn.mayCome = false
	conn.wrote = func([]byte) { conn.mayCome = true }
	transport := &http.Transport{
		DisableCompression: true,
		DialContext:        func(context.Context, string, string) (net.Conn, error) { return conn, nil },
	}
	defer conn.Close()
	ctx := httptrace.WithClientTrace(context.Background(), &httptrace.ClientTrace{
		Got1xxResponse: func(code int, header textproto.MIMEHeader) error {
			if code != http.StatusContinue {
				reading.Interim = append(reading.Interim, [2]any{code, pairs(header)})
			}
			return nil
		},
	})
	method := http.MethodGet
	if isHead {
		method = http.MethodHead
	}
	request, _ := http.NewRequestWithContext(ctx, method, "http://upstream.test/", nil)
	response, err := transport.RoundTrip(request)
	if err != nil {
		reading.fail(err)
		return reading
	}
	defer response.Body.Close()
	reading.Status, reading.Fields = response.StatusCode, pairs(response.Header)
	_, reason, _ := strings.Cut(response.Status, " ")
	reading.Reason = latin1(reason)
	body, err := io.ReadAll(response.Body)
	reading.Body, reading.Trailers = latin1(body), pairs(response.Trailer)
	if err != nil {
		reading.fail(err)
	} else {
		reading.Outcome = "whole"
	}
	return reading
}

func (reading *responseReading) fail(err error) {
	reading.Why = err.Error()
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		reading.Outcome = "refused"
	}
}
