// Encodes and decodes header blocks with golang.org/x/net/http2/hpack, for hpack-fuzz.ts. Each message on standard input is a length
// of four bytes and so many bytes: a letter and what follows it. Each answer is a length and so many bytes.
//
//	N        begins a new connection; no answer
//	D BLOCK  decodes; answers 1 and the fields, or 0 and why not
//	T SIZE   limits the encoder's table to four bytes of size; no answer
//	E FIELDS encodes; answers the block
//
// A field is its name and its value, each behind a length of four bytes, and a byte that is 1 for one that is never indexed.
package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"os"

	"golang.org/x/net/http2/hpack"
)

const tableBytes = 4096

type connection struct {
	decoder *hpack.Decoder
	encoder *hpack.Encoder
	block   bytes.Buffer
}

func begin() *connection {
	c := &connection{decoder: hpack.NewDecoder(tableBytes, nil)}
	c.encoder = hpack.NewEncoder(&c.block)
	return c
}

func main() {
	in, out := bufio.NewReaderSize(os.Stdin, 1<<20), bufio.NewWriterSize(os.Stdout, 1<<20)
	for c := begin(); ; {
		if in.Buffered() == 0 {
			out.Flush()
		}
		message, err := take(in)
		if err == io.EOF {
			out.Flush()
			return
		}
		switch rest := message[1:]; message[0] {
		case 'N':
			c = begin()
		case 'D':
			put(out, c.decode(rest))
		case 'T':
			c.encoder.SetMaxDynamicTableSize(binary.BigEndian.Uint32(rest))
		case 'E':
			put(out, c.encode(rest))
		}
	}
}

func (c *connection) decode(block []byte) []byte {
	fields, err := c.decoder.DecodeFull(block)
	if err != nil {
		return append([]byte{0}, err.Error()...)
	}
	answer := []byte{1}
	for _, field := range fields {
		answer = text(text(answer, field.Name), field.Value)
		if field.Sensitive {
			answer = append(answer, 1)
		} else {
			answer = append(answer, 0)
		}
	}
	return answer
}

func (c *connection) encode(fields []byte) []byte {
	c.block.Reset()
	for in := bufio.NewReader(bytes.NewReader(fields)); ; {
		name, err := take(in)
		if err == io.EOF {
			return c.block.Bytes()
		}
		value, _ := take(in)
		sensitive, _ := in.ReadByte()
		c.encoder.WriteField(hpack.HeaderField{Name: string(name), Value: string(value), Sensitive: sensitive == 1})
	}
}

func take(in *bufio.Reader) ([]byte, error) {
	var length uint32
	if err := binary.Read(in, binary.BigEndian, &length); err != nil {
		return nil, err
	}
	bytes := make([]byte, length)
	_, err := io.ReadFull(in, bytes)
	return bytes, err
}

func put(out *bufio.Writer, bytes []byte) {
	binary.Write(out, binary.BigEndian, uint32(len(bytes)))
	out.Write(bytes)
}

func text(to []byte, text string) []byte {
	return append(binary.BigEndian.AppendUint32(to, uint32(len(text))), text...)
}
