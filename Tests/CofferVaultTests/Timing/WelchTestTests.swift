import CofferTestSupport
import Testing

/// The statistics of `TimingCampaign` on numbers with known answers.
@Suite struct WelchTestTests {
  private func t(_ fixed: [Double], _ random: [Double]) -> Double {
    var test = WelchTest()
    for number in fixed { test.add(number, isFixed: true) }
    for number in random { test.add(number, isFixed: false) }
    return test.t
  }

  // From scipy.stats.ttest_ind with equal_var=False.
  @Test func `Welch's t of known samples is what others compute`() {
    #expect(abs(t([3.0, 4.0, 1.0, 2.1], [490.2, 340.0, 433.9]) + 9.559497721932658) < 1e-9)
    let (a, b) = (
      [27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4],
      [27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 30.5, 24.8]
    )
    #expect(abs(t(a, b) + 2.8746293918542376) < 1e-9)
    #expect(t(b, a) == -t(a, b) && t([5, 5, 5], [5, 5]) == 0)
    // Far from zero, where sums of squares would lose the difference.
    #expect(abs(t(a.map { $0 + 1e9 }, b.map { $0 + 1e9 }) - t(a, b)) < 1e-5)
  }

  /// Times with a long tail, as on a busy machine; `change` modifies those of the fixed class.
  private func worst(_ change: (Double, inout Random) -> Double) -> Double {
    var random = Random(seed: 7)
    let draw = { (random: inout Random) -> Double in
      let time = 100 + Double((0..<4).reduce(0) { sum, _ in sum + Int.random(in: 0..<10, using: &random) })
      return Int.random(in: 0..<50, using: &random) == 0 ? time + Double.random(in: 0..<100_000, using: &random) : time
    }
    var leak = LeakTest(cropping: (0..<1_000).map { _ in draw(&random) }, enough: 500)
    for _ in 0..<6_000 {
      let isFixed = Bool.random(using: &random), time = draw(&random)
      leak.add(isFixed ? change(time, &random) : time, isFixed: isFixed)
    }
    return leak.worst.t
  }

  @Test func `a difference is found below the noise, in the mean or in the spread, and none where there is none`() {
    #expect(worst { time, _ in time } < LeakTest.limit)
    // Two nanoseconds: hidden by the tail in the whole, visible in the crops.
    #expect(worst { time, _ in time + 2 } > 2 * LeakTest.limit)
    // The same mean with a different spread.
    #expect(worst { time, random in time + (Bool.random(using: &random) ? 8 : -8) } > 2 * LeakTest.limit)
  }
}
