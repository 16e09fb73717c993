internal import CofferPlatform
internal import Foundation

/// A socket before a server's, as far away as a round trip of some milliseconds: each byte takes half of it, at any rate.
final class FarServer: Sendable {
  let port: Int32
  private let oneWay: Double
  private let target: String

  /// Listens in `folder` before the socket of the number `server`. The number of its own is higher by the milliseconds.
  init(_ folder: String, server: Int32, milliseconds: Double) throws {
    port = server + Int32(milliseconds)
    oneWay = milliseconds * 500
    target = "\(folder)/.s.PGSQL.\(server)"
    let path = "\(folder)/.s.PGSQL.\(port)"
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
    let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    let bound = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard bound == 0, listen(listener, 64) == 0 else { throw Shell.Failed(line: "listen at \(path)") }
    Thread.detachNewThread { [self] in
      while true {
        let client = accept(listener, nil, nil), server = coffer_local_connect(target, 1000)
        guard client >= 0, server >= 0, fcntl(server, F_SETFL, 0) == 0 else { return }
        carry(client, server)
        carry(server, client)
      }
    }
  }

  private func carry(_ from: Int32, _ to: Int32) {
    let wire = Wire()
    Thread.detachNewThread {
      var buffer = [UInt8](repeating: 0, count: 65_536)
      var count = 1
      while count > 0 {
        count = read(from, &buffer, buffer.count)
        wire.put(Array(buffer.prefix(max(count, 0))), due: Clock.wall.now + self.oneWay)
      }
    }
    Thread.detachNewThread {
      while let bytes = wire.take() {
        var done = 0
        while done < bytes.count {
          let sent = bytes.withUnsafeBytes {
            send(to, $0.baseAddress?.advanced(by: done), bytes.count - done, Int32(MSG_NOSIGNAL))
          }
          guard sent > 0 else { break }
          done += sent
        }
      }
      shutdown(to, Int32(SHUT_WR))
    }
  }

  /// Bytes on their way in one direction. Empty ones are the end.
  private final class Wire: @unchecked Sendable {
    private let condition = NSCondition()
    private var waiting: [(bytes: [UInt8], due: Double)] = []

    func put(_ bytes: [UInt8], due: Double) {
      condition.withLock { waiting.append((bytes, due)) }
      condition.signal()
    }

    func take() -> [UInt8]? {
      let next = condition.withLock {
        while waiting.isEmpty { condition.wait() }
        return waiting.removeFirst()
      }
      let left = next.due - Clock.wall.now
      if left > 0 { usleep(UInt32(left)) }
      return next.bytes.isEmpty ? nil : next.bytes
    }
  }
}
