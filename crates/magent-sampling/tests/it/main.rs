//! The transport against a real socket.

mod transport;
