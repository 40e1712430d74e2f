// Reads what the fuzz tests send with parsers of Go, and says what they understood: golang.org/x/net/http2/hpack (hpack.go), net/http
// (http1.go) and golang.org/x/net/http2 (http2_requests.go, http2_responses.go). Each message on standard input is a length of four bytes
// and so many bytes: a letter and what follows it. Each answer is a length and so many bytes.
//
//	N            begins a new connection of header blocks; no answer
//	D BLOCK      decodes; answers 1 and the fields, or 0 and why not
//	T SIZE       limits the encoder's table to four bytes of size; no answer
//	E FIELDS     encodes; answers the block
//	Q BYTES      what a server reads from a connection of HTTP/1; answers JSON, as the ones below
//	A N BYTES    what a client reads for a HEAD (1) or a GET (0)
//	S BYTES      what a server reads from a connection of HTTP/2
//	C N BYTES    what a client reads on the streams of N requests
//
// A field is its name and its value, each behind a length of four bytes, and a byte that is 1 for one that is never indexed. Strings in JSON
// have a character for each byte.
package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"io"
	"log"
	"os"
)

func main() {
	// What is malformed is told in the answers.
	log.SetOutput(io.Discard)
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
		case 'Q':
			putJSON(out, readRequests(rest))
		case 'A':
			putJSON(out, readResponse(rest[1:], rest[0] == 1))
		case 'S':
			putJSON(out, readHTTP2Requests(rest))
		case 'C':
			putJSON(out, readHTTP2Responses(rest[1:], int(rest[0])))
		}
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

func putJSON(out *bufio.Writer, value any) {
	bytes, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	put(out, bytes)
}

// latin1 turns each byte into a character.
func latin1[T string | []byte](bytes T) string {
	characters := make([]rune, len(bytes))
	for i := range len(bytes) {
		characters[i] = rune(bytes[i])
	}
	return string(characters)
}

// pairs lists names and values. Go keeps the order of values of one name only.
func pairs(header map[string][]string) []string {
	list := []string{}
	for name, values := range header {
		for _, value := range values {
			list = append(list, latin1(name), latin1(value))
		}
	}
	return list
}
