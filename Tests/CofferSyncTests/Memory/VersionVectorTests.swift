import CofferTestSupport
import Testing

@testable import CofferSync
@testable import CofferVaultFormat

@Suite struct VersionVectorTests {
  private static func block<Role>(_ byte: UInt8) -> Block16<Role> { Block16([UInt8](repeating: byte, count: 16)) ?? .zero }

  /// Of machine, generation and commit.
  private static func vector(_ entries: [(UInt8, UInt64, UInt8)]) -> VersionVector {
    VersionVector(entries.map { VaultState.Replica(id: block($0.0), generation: $0.1, commit: block($0.2)) })
  }

  @Test func `a vector has all of another if each entry is the same or later`() {
    let one = Self.vector([(1, 5, 5), (2, 3, 3)])
    for covered in [[], [(1, 5, 5)], [(1, 4, 9), (2, 3, 3)], [(1, 5, 5), (2, 3, 3)]] as [[(UInt8, UInt64, UInt8)]] {
      #expect(Self.vector(covered).isCovered(by: one))
    }
    for other in [[(3, 1, 1)], [(1, 6, 6)], [(1, 5, 4)], [(1, 5, 6)], [(1, 5, 5), (2, 4, 3)]] as [[(UInt8, UInt64, UInt8)]] {
      #expect(!Self.vector(other).isCovered(by: one))
    }
    #expect(one.dominates(Self.vector([(1, 5, 5)])) && !one.dominates(one) && !Self.vector([(1, 5, 5)]).dominates(one))
    let apart = Self.vector([(1, 6, 6)])
    #expect(!one.dominates(apart) && !apart.dominates(one), "two heads that did not know of each other")
    #expect(Self.vector([(1, 5, 5), (3, 1, 1), (4, 1, 1)]).lacking(in: one) == [Self.block(3), Self.block(4)])
  }

  @Test func `a generation of one machine with two commits is a fork, and joins alike everywhere`() {
    let (one, other) = (Self.vector([(1, 5, 5), (2, 3, 3)]), Self.vector([(1, 5, 6), (2, 9, 9)]))
    #expect(one.forks(with: other) == [Self.block(1)] && other.forks(with: one) == [Self.block(1)])
    #expect(one.forks(with: one).isEmpty)
    var joined = one, reverse = other
    joined.join(other)
    reverse.join(one)
    #expect(joined == reverse && joined == Self.vector([(1, 5, 6), (2, 9, 9)]))
  }

  /// The rules of the model, on all vectors of two machines with small numbers.
  @Test func `joining and comparing keep the laws of an order`() {
    let marks: [(UInt64, UInt8)?] = [nil, (1, 1), (1, 2), (2, 1)]
    var vectors: [VersionVector] = []
    for first in marks {
      for second in marks {
        vectors.append(Self.vector([first.map { (1, $0.0, $0.1) }, second.map { (2, $0.0, $0.1) }].compactMap(\.self)))
      }
    }
    for one in vectors {
      #expect(one.isCovered(by: one))
      #expect(VersionVector(one.replicas) == one)
      for other in vectors {
        var joined = one, reverse = other
        joined.join(other)
        reverse.join(one)
        #expect(joined == reverse)
        #expect(one.isCovered(by: joined) == one.forks(with: joined).isEmpty, "only a fork is in no join")
        if one.isCovered(by: other) { #expect(joined == other) }
        if one.isCovered(by: other), other.isCovered(by: one) { #expect(one == other) }
        for third in vectors {
          if one.isCovered(by: other), other.isCovered(by: third) { #expect(one.isCovered(by: third)) }
          var left = joined, right = other
          left.join(third)
          right.join(third)
          var whole = one
          whole.join(right)
          #expect(left == whole)
        }
      }
    }
  }
}
