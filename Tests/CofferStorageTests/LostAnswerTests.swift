import CofferPlatform
import CofferStorage
import Testing

@Suite struct LostAnswerTests {
  private static let unknown = StoreError(.outcomeUnknown, "nobody answered", cure: "look")

  private func settle(_ look: () throws(StoreError) -> Bool?) -> StoreError.Kind? {
    do throws(StoreError) {
      try LostAnswer(Self.unknown, of: "the change", at: "server").settle(look)
      return nil
    } catch { return error.kind }
  }

  @Test func `it was made, was not made, or is left unknown, as the look finds it`() {
    #expect(settle { () throws(StoreError) in true } == nil)
    #expect(settle { () throws(StoreError) in false } == .unreachable)
    #expect(settle { () throws(StoreError) in nil } == .outcomeUnknown)
  }

  @Test(arguments: [StoreError.Kind.denied, .noSpace, .memory, .readOnly, .refused, .locked, .damaged, .io(5)])
  func `an error of the look is not taken for the commit's own`(kind: StoreError.Kind) {
    #expect(settle { () throws(StoreError) in throw StoreError(kind, "the look failed", cure: "none") } == .outcomeUnknown)
  }

  @Test(arguments: [StoreError.Kind.rolledBack, .forked, .replaced, .tampered])
  func `that other rows are there is told`(kind: StoreError.Kind) {
    #expect(settle { () throws(StoreError) in throw StoreError(kind, "other rows", cure: "none") } == kind)
  }

  @Test func `a server that is away is asked again`() {
    var looks = 0
    #expect(
      settle { () throws(StoreError) in
        looks += 1
        guard looks > 2 else { throw StoreError(.unreachable, "away", cure: "wait") }
        return true
      } == nil)
    #expect(looks == 3)
  }
}
