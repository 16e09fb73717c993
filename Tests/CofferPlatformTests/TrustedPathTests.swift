import Foundation
import SystemPackage
import Testing

@testable import CofferPlatform

@Suite final class TrustedPathTests {
  let root = FilePath("/tmp/coffer-\(UInt64.random(in: .min ... .max))")
  init() throws { _ = try TrustedPath.makePrivateFolder(root) }
  deinit { try? FileManager.default.removeItem(atPath: root.string) }

  /// Of acl(5): owner, user 65534, group, mask and others, each a tag, bits and an identifier.
  private static let list = """
    import os, struct, sys
    entries = [(1, 7, 2**32 - 1), (2, 7, 65534), (4, 7, 2**32 - 1), (16, 7, 2**32 - 1), (32, 5, 2**32 - 1)]
    os.setxattr(sys.argv[1], "system.posix_acl_access", struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *e) for e in entries))
    """

  private func denial(_ body: () throws(StoreError) -> Void) -> StoreError? {
    do throws(StoreError) { try body() } catch {
      #expect(error.kind == .denied, "\(error)")
      return error
    }
    Issue.record("nothing was thrown")
    return nil
  }

  @Test func `a missing folder is made for its owner alone`() throws {
    let made = try TrustedPath.makePrivateFolder(root.appending("a").appending("b"))
    for folder in [root, root.appending("a"), made] {
      #expect(try Stat(folder).permissions == FilePermissions(rawValue: 0o700))
    }
    #expect(try TrustedPath.makePrivateFolder(made) == made)
  }

  @Test func `a missing folder is nil`() throws {
    #expect(try TrustedPath.privateFolder(root.appending("a")) == nil)
    #expect(try TrustedPath.privateFolder(root.appending("a").appending("b")) == nil)
    #expect(try TrustedPath.privateFile(root.appending("a")) == nil)
  }

  @Test func `a relative folder is resolved`() throws {
    // The package's own folder is not private, so only the check of its parents differs.
    let resolved = try TrustedPath.resolve(".")
    #expect(resolved.isAbsolute)
  }

  @Test(arguments: [0o777, 0o707, 0o772] as [mode_t])
  func `a parent that others can write to is refused and left as it is`(mode: mode_t)
    throws
  {
    let parent = root.appending("parent")
    let folder = try TrustedPath.makePrivateFolder(parent.appending("own"))
    #expect(chmod(parent.string, mode) == 0)
    let error = denial { () throws(StoreError) in _ = try TrustedPath.privateFolder(folder) }
    #expect(error?.place == parent.string)
    #expect(error?.cure.contains("chmod go-w \(parent)") == true)
    _ = denial { () throws(StoreError) in _ = try TrustedPath.makePrivateFolder(parent.appending("new")) }
    #expect(try Stat(parent).permissions.rawValue == mode)
    #expect(try Stat.ofLink(parent.appending("new")) == nil)
  }

  @Test func `a parent that its group can write to is accepted only if nobody else is in the group`() throws {
    let parent = root.appending("parent")
    let folder = try TrustedPath.makePrivateFolder(parent.appending("own"))
    let group = try Stat(parent).groupID.rawValue
    #expect(chmod(parent.string, 0o775) == 0)
    let isPrivate = coffer_has_private_group(parent.string, group)
    let user = getpwuid(geteuid()).map { String(cString: $0.pointee.pw_name) }
    let members = getgrgid(group).map { ($0.pointee.gr_mem[0] == nil, String(cString: $0.pointee.gr_name)) }
    if let user, let members, members == (true, user) {
      #expect(isPrivate)
      #expect(try TrustedPath.privateFolder(folder) == folder)
    } else {
      print("skipped in part: this user's group has others")
    }
    #expect(!coffer_has_private_group(parent.string, group + 1))
    if geteuid() == 0 {
      #expect(chown(parent.string, 0, 65534) == 0)
      #expect(denial { () throws(StoreError) in _ = try TrustedPath.privateFolder(folder) }?.place == parent.string)
    }
    // With an access control list the bits of the group are a mask: the list may name others.
    #expect(chown(parent.string, geteuid(), group) == 0)
    let python = Process()
    (python.executableURL, python.arguments) = (URL(filePath: "/usr/bin/python3"), ["-c", Self.list, parent.string])
    try python.run()
    python.waitUntilExit()
    guard python.terminationStatus == 0 else { return print("skipped in part: no access control lists here") }
    #expect(denial { () throws(StoreError) in _ = try TrustedPath.privateFolder(folder) }?.place == parent.string)
  }

  @Test func `a parent that others can read is accepted`() throws {
    let parent = root.appending("parent")
    let folder = try TrustedPath.makePrivateFolder(parent.appending("own"))
    #expect(chmod(parent.string, 0o755) == 0)
    #expect(try TrustedPath.privateFolder(folder) == folder)
  }

  @Test(.enabled(if: geteuid() == 0, "only root can give a folder away"))
  func `a sticky parent is accepted only of root`() throws {
    let parent = root.appending("parent")
    let folder = try TrustedPath.makePrivateFolder(parent.appending("own"))
    #expect(chmod(parent.string, 0o1777) == 0)
    #expect(try TrustedPath.privateFolder(folder) == folder)
    #expect(chown(parent.string, 65534, 65534) == 0)
    _ = denial { () throws(StoreError) in _ = try TrustedPath.privateFolder(folder) }
  }

  @Test(.enabled(if: geteuid() == 0, "only root can give a folder away"))
  func `another user's folder is refused`() throws {
    let parent = root.appending("parent")
    let folder = try TrustedPath.makePrivateFolder(parent.appending("own"))
    #expect(chown(parent.string, 65534, 65534) == 0)
    #expect(denial { () throws(StoreError) in _ = try TrustedPath.privateFolder(folder) }?.place == parent.string)
    _ = denial { () throws(StoreError) in _ = try TrustedPath.privateFolder(parent) }
    _ = denial { () throws(StoreError) in _ = try TrustedPath.makePrivateFolder(parent.appending("new")) }
  }

  @Test func `links above the folder are resolved and their target is checked`() throws {
    let open = root.appending("open")
    let folder = try TrustedPath.makePrivateFolder(open.appending("own"))
    let link = root.appending("link")
    #expect(symlink(open.string, link.string) == 0)
    #expect(try TrustedPath.privateFolder(link.appending("own")) == folder)
    #expect(chmod(open.string, 0o777) == 0)
    _ = denial { () throws(StoreError) in _ = try TrustedPath.privateFolder(link.appending("own")) }
    _ = denial { () throws(StoreError) in _ = try TrustedPath.privateFolder(link) }
  }

  @Test func `something else in the folder's place is refused`() throws {
    let path = root.appending("it")
    #expect(mkfifo(path.string, 0o600) == 0)
    _ = denial { () throws(StoreError) in _ = try TrustedPath.makePrivateFolder(path) }
    #expect(try Stat.ofLink(path)?.type == .fifo)
  }

  @Test(arguments: ["/a/b.c", "/a b", "/it's", "/$(x)", "/ä"]) func `a quoted path is one word of a shell`(path: String) throws {
    let shell = Process()
    shell.executableURL = URL(fileURLWithPath: "/bin/sh")
    shell.arguments = ["-c", "printf %s \(FilePath(path).quoted)"]
    let output = Pipe()
    shell.standardOutput = output
    try shell.run()
    shell.waitUntilExit()
    #expect(output.fileHandleForReading.readDataToEndOfFile() == Data(path.utf8))
  }
}
