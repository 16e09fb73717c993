import CofferPlatform

/// Mean and variance of numbers that come one by one (Welford 1962).
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

  /// The size of the smaller sample.
  var count: Double { min(fixed.count, random.count) }

  /// How much larger the numbers of the fixed class are in the mean.
  var difference: Double { fixed.mean - random.mean }

  /// Welch's t, 0 where all numbers are equal; positive where those of the fixed class are larger. Both have two numbers at
  /// least.
  var t: Double {
    difference == 0 ? 0 : difference / (fixed.variance / fixed.count + random.variance / random.count).squareRoot()
  }
}

/// Whether times tell of which of two classes an input was, as dudect decides it: of all times, of those below each of a hundred
/// percentiles, which leave out what the machine did in between, and of the squares of their distances from the mean.
///
/// Source: Reparaz, Balasch and Verbauwhede 2017, *Dude, is my code constant time?*
struct LeakTest {
  /// Above it a difference of the means is no chance: for samples as large as these, one of some 150 000 tests of nothing exceeds
  /// it (Goodwill, Jun, Jaffe and Rohatgi 2011).
  static let limit = 4.5

  private let enough: Double
  private let crops: [Double]
  private var all = WelchTest()
  private var cropped: [WelchTest]
  private var squared = WelchTest()

  /// - Parameters:
  ///   - first: times of both classes, which say where to crop and are not counted.
  ///   - enough: samples of each class below which a test is not heard; dudect's number.
  init(cropping first: [Double], enough: Double = 10_000) {
    self.enough = enough
    let sorted = first.sorted()
    crops = (1...100).map { step in
      // Many crops near the top, where the time of other programs is: 1 − 0.5^(10 · step / 100).
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

  /// The largest t without its sign, how much longer the fixed class takes there in the mean, and of which times it is.
  var worst: (t: Double, difference: Double, times: String) {
    let named =
      [(all, "all"), (squared, "their squares")] + zip(cropped, crops).map { ($0, "those below \(Int($1)) ns") }
    let heard = named.filter { $0.0.count >= enough }.map { (abs($0.0.t), $0.0.difference, $0.1) }
    return heard.max { $0.0 < $1.0 } ?? (0, 0, "none")
  }

  /// How many times were given, of both classes.
  var samples: Int { Int(all.fixed.count + all.random.count) }
}
