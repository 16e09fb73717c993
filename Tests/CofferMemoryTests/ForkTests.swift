#if os(Linux)
  import Foundation
  import Glibc
  import Testing

  @testable import CofferMemory

  @Suite struct ForkTests {
    @Test func `a forked child finds its secrets gone, and the parent keeps them`() async {
      // In a separate process: if another thread is in the arena during the fork, nobody releases the child's lock.
      await #expect(processExitsWith: .success) {
        var small = try SecretBytes(zeros: 6)
        small.withUnsafeMutableBytes { _ = $0.initializeMemory(as: UInt8.self, repeating: 0xC3) }
        var large = try SecretBytes(zeros: 100_000)
        large.withUnsafeMutableBytes { _ = $0.initializeMemory(as: UInt8.self, repeating: 0x5A) }

        // Swift hides fork; its symbol exists. The child only touches memory and exits.
        typealias Fork = @convention(c) () -> pid_t
        let fork = unsafeBitCast(try #require(dlsym(nil, "fork")), to: Fork.self)
        let child = fork()
        if child == 0 {
          var left: Int32 = 0
          if small.isIntact || large.isIntact { left |= 1 }
          small.withUnsafeBytes { for byte in $0 where byte != 0 { left |= 2 } }
          large.withUnsafeBytes { for byte in $0 where byte != 0 { left |= 4 } }
          // A child's new secrets are its own: none comes from a region that the fork has emptied.
          let own = try? SecretBytes(zeros: 6)
          if own?.isIntact != true { left |= 8 }
          _exit(left)
        }
        var status: Int32 = 0
        #expect(child > 0 && waitpid(child, &status, 0) == child)
        #expect(status == 0, "1: mark kept, 2: small secret kept, 4: large secret kept, 8: no new one, times 256")
        #expect(small.isIntact && large.isIntact)
        #expect(small.withUnsafeBytes { $0.first } == 0xC3)
      }
    }
  }
#endif
