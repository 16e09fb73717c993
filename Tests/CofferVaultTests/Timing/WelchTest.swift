import CofferPlatform

/// Mean and variance of a stream of numbers (Welford 1962).
struct Moments {
  private(set) var count = 0.0
  private(set) var mean = 0.0
  private var squares = 0.0

  mutating func add(_ number: Double) {
    count += 1
    let distance = number - mean
    mean += distance / count
    squares += distance * (number - mean)
  }

  var variance: Double { squares / (count - 1) }
}

/// Welch's test of whether two samples of unequal variance have the same mean.
///
/// Source: Welch 1947, *The generalization of "Student's" problem*.
struct WelchTest {
  private(set) var fixed = Moments()
  private(set) var random = Moments()

  mutating func add(_ number: Double, isFixed: Bool) {
    if isFixed { fixed.add(number) } else { random.add(number) }
  }

  var count: Double { min(fixed.count, random.count) }

  /// Mean of the fixed class minus mean of the other.
  var difference: Double { fixed.mean - random.mean }

  /// Welch's t, positive if the fixed class has the larger mean. Both need at least two numbers.
  var t: Double {
    difference == 0 ? 0 : difference / (fixed.variance / fixed.count + random.variance / random.count).squareRoot()
  }
}

/// Whether times reveal the class of an input, decided as dudect does: from all times, from those below each of a hundred
/// percentiles (to drop noise), and from the squared distances from the mean.
///
/// Source: Reparaz, Balasch and Verbauwhede 2017, *Dude, is my code constant time?*
struct LeakTest {
  /// A larger t is no chance: in samples this large, about one of 150 000 tests of nothing exceeds it (Goodwill, Jun, Jaffe
  /// and Rohatgi 2011).
  static let limit = 4.5

  private let enough: Double
  private let crops: [Double]
  private var all = WelchTest()
  private var cropped: [WelchTest]
  private var squared = WelchTest()

  /// - Parameters:
  ///   - first: times of both classes that determine the crops and are not counted.
  ///   - enough: least samples of each class for a test to count; dudect's number.
  init(cropping first: [Double], enough: Double = 10_000) {
    self.enough = enough
    let sorted = first.sorted()
    crops = (1...100).map { step in
      // Many crops near the top, where the noise of other programs is: 1 − 0.5^(10 · step / 100).
      let share = 1 - pow(0.5, 10 * Double(step) / 100)
      return sorted[min(sorted.count - 1, Int(share * Double(sorted.count)))]
    }
    cropped = Array(repeating: WelchTest(), count: crops.count)
  }

  mutating func add(_ time: Double, isFixed: Bool) {
    all.add(time, isFixed: isFixed)
    for index in crops.indices where time < crops[index] { cropped[index].add(time, isFixed: isFixed) }
    if all.count > enough {
      let distance = time - (isFixed ? all.fixed.mean : all.random.mean)
      squared.add(distance * distance, isFixed: isFixed)
    }
  }

  /// The largest absolute t, how much longer the fixed class takes there on average, and in which set of times.
  var worst: (t: Double, difference: Double, times: String) {
    let named =
      [(all, "all"), (squared, "their squares")] + zip(cropped, crops).map { ($0, "those below \(Int($1)) ns") }
    let heard = named.filter { $0.0.count >= enough }.map { (abs($0.0.t), $0.0.difference, $0.1) }
    return heard.max { $0.0 < $1.0 } ?? (0, 0, "none")
  }

  var samples: Int { Int(all.fixed.count + all.random.count) }
}
