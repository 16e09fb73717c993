internal import CofferAgent
internal import CofferPlatform
internal import Dispatch

// What is known of the vault, which others change too.
extension ServiceLoop {
  /// Takes note of what the agent's vault is now.
  func note(_ now: AgentMoment?) {
    // The watch and who looks after an attempt hear of it by two ways, of which either may be the slower.
    if let now, now.since < since { return }
    let wasLocked = isLocked
    (moment, since) = (now, now?.since ?? since)
    if isUnlocked {
      timesUnlocked += 1
      surveyIsDue = true
      unlocker.unlocked()
      resumeAll()
    } else {
      vault.forget()
    }
    guard isLocked != wasLocked else { return }
    for collection in book.collections where collection.name != CollectionState.session {
      announcer.tellLock(collection, isLocked: isLocked)
    }
  }

  /// Takes note of the collections, and tells what differs.
  func note(_ new: CollectionBook) {
    let old = book
    book = new
    announcer.tell(from: old, to: new)
  }

  /// Does `body` once the collections are known as well as they can be: a call that starts the service comes before the first survey.
  func knowingBook(_ message: BusMessage, _ body: @escaping () throws(Refusal) -> Void) throws(Refusal) {
    guard !book.isRead, isUnlocked else { return try body() }
    try ask(message, waits: false, isQuick: true) { (vault) throws(Refusal) in
      try vault.book()
    } _: { [self] (book) throws(Refusal) in
      note(book)
      try body()
    } otherwise: { (refusal) throws(Refusal) in
      guard refusal.isForUnlocking else { throw refusal }
      try body()
    }
  }

  /// Of the time, the most that looking for changes takes: with many items it takes some milliseconds each.
  private static let surveyShare = 10

  /// Looks for what others changed, on the queue.
  func startDueSurvey() {
    guard surveyIsDue, !surveyIsRunning, isUnlocked, ContinuousClock.now >= nextSurvey else { return }
    (surveyIsDue, surveyIsRunning) = (false, true)
    let (vault, inbox) = (vault, inbox)
    queue.async {
      let start = ContinuousClock.now
      var survey: Survey?
      // What is wrong is said to clients when they ask.
      do throws(Refusal) { survey = try vault.survey() } catch { vault.forget() }
      inbox.post(.surveyed(survey, cost: .now - start))
    }
  }

  func surveyed(_ survey: Survey?, _ cost: Duration) {
    surveyIsRunning = false
    nextSurvey = .now + cost * Self.surveyShare
    guard let survey else { return }
    note(survey.book)
    for event in survey.events { announcer.tell(event) }
  }
}
