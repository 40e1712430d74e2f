package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"

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

func text(to []byte, text string) []byte {
	return append(binary.BigEndian.AppendUint32(to, uint32(len(text))), text...)
}
