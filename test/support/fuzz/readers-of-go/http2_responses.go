package main

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"

	"golang.org/x/net/http2"
)

const prefaceBytes = 24

// readHTTP2Responses sends requests on streams 1, 3 and so on, and brings the bytes when the last has left.
func readHTTP2Responses(bytes []byte, count int) []*http2Reading {
	conn := newMemoryConn(bytes, io.EOF)
	conn.mayCome = false
	dialled := false
	transport := &http2.Transport{
		AllowHTTP:          true,
		DisableCompression: true,
		MaxHeaderListSize:  65_536,
		MaxReadFrameSize:   16_384,
		DialTLSContext: func(context.Context, string, string, *tls.Config) (net.Conn, error) {
			if dialled {
				return nil, errors.New("one connection is all there is")
			}
			dialled = true
			return conn, nil
		},
	}
	readings := make([]*http2Reading, count)
	var all sync.WaitGroup
	for i := range readings {
		readings[i] = &http2Reading{Stream: uint32(2*i + 1), Fields: []string{}, Trailers: []string{}}
		all.Go(func() { readings[i].read(transport) })
		conn.wait(func() bool { return headersIn(conn.written) > i })
	}
	conn.tell(func() { conn.mayCome = true })
	all.Wait()
	conn.Close()
	return readings
}

func (reading *http2Reading) read(transport *http2.Transport) {
	request, _ := http.NewRequest(http.MethodGet, "http://a.test/", nil)
	response, err := transport.RoundTrip(request)
	if err != nil {
		return
	}
	defer response.Body.Close()
	reading.Status, reading.Fields = strconv.Itoa(response.StatusCode), pairs(response.Header)
	body, err := io.ReadAll(response.Body)
	reading.Body, reading.Whole, reading.Trailers = latin1(body), err == nil, pairs(response.Trailer)
}

// headersIn counts the HEADERS frames that a client wrote.
func headersIn(written []byte) int {
	count := 0
	for frame := range framesIn(written[min(prefaceBytes, len(written)):]) {
		if frame[3] == typeHeaders {
			count++
		}
	}
	return count
}
