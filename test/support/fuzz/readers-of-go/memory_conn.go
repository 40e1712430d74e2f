package main

import (
	"net"
	"sync"
	"time"
)

// memoryConn brings bytes to a reader, once they may come, and keeps what is written.
type memoryConn struct {
	mu   sync.Mutex
	cond *sync.Cond
	// What the other side sends; shrinks as it is read.
	bytes   []byte
	mayCome bool
	// What a read behind the last byte meets.
	end error
	// Called before that.
	starved func()
	// Called with what was written so far, under the lock.
	wrote   func([]byte)
	written []byte
	closed  bool
}

func newMemoryConn(bytes []byte, end error) *memoryConn {
	c := &memoryConn{bytes: bytes, mayCome: true, end: end}
	c.cond = sync.NewCond(&c.mu)
	return c
}

func (c *memoryConn) Read(into []byte) (int, error) {
	c.mu.Lock()
	for !c.mayCome && !c.closed {
		c.cond.Wait()
	}
	n := copy(into, c.bytes)
	c.bytes = c.bytes[n:]
	c.mu.Unlock()
	if n > 0 || len(into) == 0 {
		return n, nil
	}
	if c.starved != nil {
		c.starved()
	}
	return 0, c.end
}

func (c *memoryConn) Write(bytes []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.written = append(c.written, bytes...)
	if c.wrote != nil {
		c.wrote(c.written)
	}
	c.cond.Broadcast()
	return len(bytes), nil
}

func (c *memoryConn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.cond.Broadcast()
	return nil
}

// wait returns once this holds, or the connection is closed.
func (c *memoryConn) wait(holds func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.closed && !holds() {
		c.cond.Wait()
	}
}

// tell changes something that others wait for.
func (c *memoryConn) tell(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
	c.cond.Broadcast()
}

func (c *memoryConn) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (c *memoryConn) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (c *memoryConn) SetDeadline(time.Time) error      { return nil }
func (c *memoryConn) SetReadDeadline(time.Time) error  { return nil }
func (c *memoryConn) SetWriteDeadline(time.Time) error { return nil }
