import Foundation
import Testing

@testable import CofferSecretService

@Suite struct UnlockAttemptTests {
  @Test func `an end that the system does not tell is no success`() {
    // No process is its own child.
    #expect(UnlockAttempt.reap(getpid()) == nil)
  }
}
