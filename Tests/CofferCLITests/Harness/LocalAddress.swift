import Foundation
import Testing

enum LocalAddress {
  static func listener(_ path: String, backlog: Int32? = 16) throws -> Int32 {
    let descriptor = try make()
    try #require(use(path) { bind(descriptor, $0, $1) } == 0, "bind \(path)")
    if let backlog { try #require(listen(descriptor, backlog) == 0) }
    return descriptor
  }

  static func connection(_ path: String) throws -> Int32 {
    let descriptor = try make()
    try #require(use(path) { connect(descriptor, $0, $1) } == 0, "connect \(path)")
    return descriptor
  }

  /// Sends all of `bytes`; false once the other end is gone.
  @discardableResult
  static func send(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      let sent = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      guard sent > 0 else { return false }
      rest = rest.dropFirst(sent)
    }
    return true
  }

  private static func make() throws -> Int32 {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    try #require(descriptor >= 0)
    return descriptor
  }

  private static func use(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
    }
  }
}
