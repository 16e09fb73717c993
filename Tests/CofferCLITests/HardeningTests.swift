import Foundation
import Testing

@testable import CofferCLI

@Suite struct HardeningTests {
  @Test("while it asks, the process can leave no core, gain no rights and be read by nobody")
  func process() throws {
    let home = try Home()
    let terminal = try PseudoTerminal()
    let child = try terminal.coffer("vault init", in: home)
    terminal.shows("New passphrase: ")
    let limits = try String(contentsOfFile: "/proc/\(child.id)/limits", encoding: .utf8)
    #expect(limits.contains(/Max core file size +0 +0/))
    let status = try String(contentsOfFile: "/proc/\(child.id)/status", encoding: .utf8)
    #expect(status.contains("NoNewPrivs:\t1"))
    #expect(status.contains("Umask:\t0077"))
    var facts = stat()
    // A process that is not dumpable belongs to root in /proc, whoever runs it.
    #expect(stat("/proc/\(child.id)/environ", &facts) == 0 && facts.st_uid == 0)
    terminal.type("\u{3}")
    #expect(try child.wait() == 130)
  }
}
