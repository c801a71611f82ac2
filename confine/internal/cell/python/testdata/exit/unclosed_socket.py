import socket
a, b = socket.socketpair()
a.send(b"x")
print(b.recv(1))
