package import SystemPackage

extension Stat {
  /// What stands at `path` itself, following no link in its last component; nil when nothing does.
  package static func ofLink(_ path: FilePath) throws(StoreError) -> Stat? {
    do throws(Errno) {
      return try Stat(path, followTargetSymlink: false)
    } catch {
      guard error == .noSuchFileOrDirectory else {
        throw StoreError(errno: error.rawValue, "look at the path", place: path)
      }
      return nil
    }
  }

  /// Which file this is, whatever its name.
  package var identity: FileIdentity { FileIdentity(device: deviceID, inode: inode) }
}

/// A file apart from its names: two paths with one identity are the same file.
package struct FileIdentity: Sendable, Hashable {
  private let device: DeviceID
  private let inode: Inode

  init(device: DeviceID, inode: Inode) {
    self.device = device
    self.inode = inode
  }
}

extension FileType {
  /// The kind of file in a word, for messages.
  var word: String {
    switch self {
    case .regular: "file"
    case .directory: "folder"
    case .symbolicLink: "symbolic link"
    case .fifo: "named pipe"
    case .socket: "socket"
    case .characterSpecial, .blockSpecial: "device"
    default: "special file"
    }
  }
}

extension FilePath {
  /// The path as one word of a shell command, so that a command in a message can be run as it stands.
  package var quoted: String {
    let plain = string.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
        UInt8(ascii: "/"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
        true
      default: false
      }
    }
    guard !plain else { return string }
    return "'" + string.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
  }
}
