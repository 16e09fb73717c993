import CofferPlatform
import CofferTestSupport
import Foundation
import SystemPackage
import Testing

@testable import CofferSync

/// Connections that end after any number of bytes.
@Suite(.tags(.process, .campaign), .wholeRun) struct GitCutTests {
  /// In place of ssh: runs git's other end here, and cuts the stream to it, or from it, after a number of bytes.
  private static let script = """
    #!/bin/sh
    for word in "$@"; do last=$word; done
    if [ "$CUT" = to ]; then
      dd bs=1 count="$BYTES" status=none | sh -c "$last"
    else
      sh -c "$last" | { dd bs=1 count="$BYTES" status=none; kill -KILL $$; }
    fi
    """

  @Test(arguments: ["to", "from"])
  func `a push that is cut at any byte leaves the old head or the new one, and says which`(_ direction: String) throws {
    let remote = try Remote(.gitPath), here = try remote.pieces("desk")
    let ssh = remote.folder.path.appending("ssh")
    try Remote.write(Self.script, to: ssh, mode: 0o700)
    var last = try Sample(1, [0: Sample.content(1), 1: Sample.content(2)], in: here)
    #expect(try remote.carrier().put(last, from: here))
    var done = 0, cut = 0
    for bytes in stride(from: 0, to: direction == "to" ? 9_600 : 1_200, by: direction == "to" ? 480 : 60) {
      let number = last.head.generation + 1, machine = "\(direction)-\(bytes)"
      let next = try Sample(number, [0: Sample.content(UInt8(number)), 1: Sample.content(2)], in: here)
      let clear = try remote.carrier(of: machine)
      #expect(try clear.heads().heads == [last.head])
      // The same cache, by way of a line that is cut.
      let carrier = try GitCarrier(
        "ssh://cut\(remote.there)", isPath: false, folder: remote.folder.path.appending("carrier-\(machine)"),
        groups: { Sample.groups(of: $0) },
        settings: ["GIT_SSH_COMMAND='\(ssh)'", "GIT_SSH_VARIANT=simple", "CUT=\(direction)", "BYTES=\(bytes)"])
      let isDone = try? carrier.put([next.groups[0]], next.head, from: here, over: [last.head], anew: false)
      let history = try remote.checkedHistory()
      #expect(["\(last.head)", "\(next.head)"].contains(history[0]))
      if isDone == true { #expect(history[0] == "\(next.head)") }
      if isDone == nil { cut += 1 } else { done += 1 }
      #expect(isDone != false)
      if history[0] == "\(next.head)" { last = next }
      let got = try remote.pieces(machine)
      #expect(try clear.heads().heads == [last.head] && clear.missing(last.groups, into: got) == [])
      for name in last.groups { #expect(try got.read(name) == here.read(name)) }
    }
    #expect(cut > 3 && done > 0, "\(cut) cut, \(done) done")
  }
}
