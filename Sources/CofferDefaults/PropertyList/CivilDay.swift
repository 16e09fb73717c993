/// Days of the Gregorian calendar, counted from 1970-01-01.
///
/// Counted in eras of 400 years that begin in March, so that the leap day is a year's last.
enum CivilDay {
  private static let daysOfEra = 146_097
  /// From the beginning of the era that holds 1970 to its first day.
  private static let offset = 719_468

  /// Year, month and day of the day `number`.
  static func date(_ number: Int) -> (year: Int, month: Int, day: Int) {
    let shifted = number + offset
    let era = (shifted >= 0 ? shifted : shifted - (daysOfEra - 1)) / daysOfEra
    let dayOfEra = shifted - era * daysOfEra
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let month = (5 * dayOfYear + 2) / 153
    let isJanuaryOrFebruary = month >= 10
    return (
      yearOfEra + era * 400 + (isJanuaryOrFebruary ? 1 : 0), isJanuaryOrFebruary ? month - 9 : month + 3,
      dayOfYear - (153 * month + 2) / 5 + 1
    )
  }

  /// The number of a day; one beyond the end of its month is counted on into the next.
  static func number(year: Int, month: Int, day: Int) -> Int {
    let year = month <= 2 ? year - 1 : year
    let era = (year >= 0 ? year : year - 399) / 400
    let yearOfEra = year - era * 400
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * daysOfEra + dayOfEra - offset
  }
}
