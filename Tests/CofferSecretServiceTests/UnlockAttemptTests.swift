import Foundation
import Testing

@testable import CofferSecretService

@Suite struct UnlockAttemptTests {
  @Test func `an end that the system does not tell is no success`() {
    // No process is a child of its own.
    #expect(UnlockAttempt.reap(getpid()) == nil)
  }
}
