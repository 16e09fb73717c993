import CofferPlatform
import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI
@testable import CofferTerminal

@Suite struct EndingTests {
  @Test func `an end that the system does not tell is an error, and not the status 0`() {
    // No process is its own child.
    #expect(kind { _ = try Ending(of: getpid()) } == .io(ECHILD))
  }

  @Test func `the two ends are told apart, and a shell's status has both`() {
    #expect(Ending(3 << 8) == .exited(3) && Ending(SIGTERM) == .killed(SIGTERM) && Ending(0x80 | SIGSEGV) == .killed(SIGSEGV))
    #expect(Ending(3 << 8).status == 3 && Ending(SIGTERM).status == 143)
  }
}
