// A client as old as those of Terway's plugins up to v1.9.3: asks the socket at its first argument for an address 300 times.
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"

	"google.golang.org/grpc"
)

type bytesAsTheyAre struct{}

func (bytesAsTheyAre) Marshal(v interface{}) ([]byte, error) { return v.([]byte), nil }
func (bytesAsTheyAre) Unmarshal(data []byte, v interface{}) error {
	*(v.(*[]byte)) = append([]byte{}, data...)
	return nil
}
func (bytesAsTheyAre) Name() string { return "bytes" }

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	// As terway-cli/plugin does: the path is the target, and so the authority.
	dial := func(ctx context.Context, path string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}
	conn, err := grpc.DialContext(ctx, os.Args[1], grpc.WithInsecure(), grpc.WithBlock(), grpc.WithContextDialer(dial))
	if err != nil {
		fmt.Println("dial:", err)
		os.Exit(1)
	}
	request := []byte{0x0a, 0x01, 'p', 0x12, 0x02, 'n', 's'}
	for call := 0; call < 300; call++ {
		// Another deadline each time, so that the table of headers turns over.
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(20_000+call*13)*time.Millisecond)
		var reply []byte
		err = conn.Invoke(ctx, "/rpc.TerwayBackend/AllocIP", request, &reply, grpc.ForceCodec(bytesAsTheyAre{}))
		cancel()
		if err != nil || len(reply) == 0 {
			fmt.Printf("call %d: %v, %d bytes\n", call, err, len(reply))
			os.Exit(1)
		}
	}
	fmt.Println("grpc-go", grpc.Version, "was answered 300 times")
}
