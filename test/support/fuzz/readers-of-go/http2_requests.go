package main

import (
	"encoding/binary"
	"io"
	"iter"
	"net/http"
	"reflect"
	"runtime"
	"sync"

	"golang.org/x/net/http2"
)

const (
	frameHeadBytes = 9
	typeHeaders    = 1
	typeGoAway     = 7
)

// http2Reading is Http2Reading of http2-reading.ts, of the stream with this number.
type http2Reading struct {
	Stream   uint32   `json:"stream"`
	Whole    bool     `json:"whole"`
	Status   string   `json:"status"`
	Fields   []string `json:"fields"`
	Body     string   `json:"body"`
	Trailers []string `json:"trailers"`
}

// http2Requests is what a server reads. It answers none of the requests before the last byte was read: then it waits until each stream has
// come to its handler or is closed, and ends the connection.
type http2Requests struct {
	Readings []*http2Reading `json:"readings"`
	// Why the connection ended early; empty: it did not.
	Fault string `json:"fault"`

	mu   sync.Mutex
	cond *sync.Cond
	// Streams that have neither come to a handler nor been closed.
	waiting map[uint32]bool
	// Handlers that read.
	running int
}

func readHTTP2Requests(bytes []byte) *http2Requests {
	result := &http2Requests{Readings: []*http2Reading{}, waiting: map[uint32]bool{}}
	result.cond = sync.NewCond(&result.mu)
	conn := newMemoryConn(bytes, io.EOF)
	conn.wrote = result.lookAtFrames
	// Whatever came before has been handled by the time the server asks for more.
	conn.starved = func() {
		result.wait(func() bool { return len(result.waiting) == 0 || result.Fault != "" })
	}
	server := http2.Server{
		MaxConcurrentStreams:         100,
		MaxReadFrameSize:             16_384,
		MaxUploadBufferPerConnection: 8_388_608,
		MaxUploadBufferPerStream:     131_072,
		NewWriteScheduler: func() http2.WriteScheduler {
			return toldScheduler{http2.NewRandomWriteScheduler(), result}
		},
	}
	served := false
	go func() {
		server.ServeConn(conn, &http2.ServeConnOpts{
			BaseConfig: &http.Server{MaxHeaderBytes: 65_536, DisableGeneralOptionsHandler: true},
			Handler:    result,
		})
		result.tell(func() { served = true })
	}()
	// Behind a fault the server keeps the connection for a second. What has come whole is read by then in most cases.
	result.wait(func() bool { return (served && result.running == 0) || result.Fault != "" })
	for range 20 {
		runtime.Gosched()
	}
	result.mu.Lock()
	defer result.mu.Unlock()
	return &http2Requests{Readings: result.Readings, Fault: result.Fault}
}

// ServeHTTP reads a request.
func (result *http2Requests) ServeHTTP(response http.ResponseWriter, r *http.Request) {
	reading := &http2Reading{Stream: streamOf(response), Fields: pairs(r.Header), Trailers: []string{}}
	result.tell(func() {
		delete(result.waiting, reading.Stream)
		result.running++
	})
	reading.Fields = append(reading.Fields, ":method", latin1(r.Method), ":path", latin1(r.RequestURI), ":authority", latin1(r.Host))
	body, err := io.ReadAll(r.Body)
	reading.Body, reading.Whole = latin1(body), err == nil
	result.tell(func() {
		result.Readings = append(result.Readings, reading)
		result.running--
	})
}

// streamOf finds the number of the stream, which the package does not tell.
func streamOf(response http.ResponseWriter) uint32 {
	state := reflect.ValueOf(response).Elem().FieldByName("rws").Elem()
	return uint32(state.FieldByName("stream").Elem().FieldByName("id").Uint())
}

func (result *http2Requests) lookAtFrames(written []byte) {
	for frame := range framesIn(written) {
		switch frame[3] {
		case typeGoAway:
			code := http2.ErrCode(binary.BigEndian.Uint32(frame[frameHeadBytes+4:]))
			result.tell(func() { result.Fault = code.String() })
		case typeHeaders:
			// The server answers by itself what it refuses. The body of that response may wait for a window for ever.
			result.tell(func() { delete(result.waiting, binary.BigEndian.Uint32(frame[5:])) })
		}
	}
}

// framesIn cuts what was written, without a preface, into whole frames.
func framesIn(written []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for len(written) >= frameHeadBytes {
			end := frameHeadBytes + int(written[0])<<16 + int(written[1])<<8 + int(written[2])
			if end > len(written) || !yield(written[:end]) {
				return
			}
			written = written[end:]
		}
	}
}

func (result *http2Requests) wait(holds func() bool) {
	result.mu.Lock()
	defer result.mu.Unlock()
	for !holds() {
		result.cond.Wait()
	}
}

func (result *http2Requests) tell(change func()) {
	result.mu.Lock()
	defer result.mu.Unlock()
	change()
	result.cond.Broadcast()
}

// toldScheduler tells which streams the server opens and closes.
type toldScheduler struct {
	http2.WriteScheduler
	result *http2Requests
}

func (s toldScheduler) OpenStream(stream uint32, options http2.OpenStreamOptions) {
	s.result.tell(func() { s.result.waiting[stream] = true })
	s.WriteScheduler.OpenStream(stream, options)
}

func (s toldScheduler) CloseStream(stream uint32) {
	s.result.tell(func() { delete(s.result.waiting, stream) })
	s.WriteScheduler.CloseStream(stream)
}
