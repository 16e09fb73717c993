internal import CofferAgent
internal import Dispatch

// The knowledge of the vault, which others change too.
extension ServiceLoop {
  func note(_ now: AgentMoment?) {
    // The watch and the check after an attempt report in any order.
    if let now, now.since < since { return }
    let wasLocked = isLocked
    (moment, since) = (now, now?.since ?? since)
    if isUnlocked {
      timesUnlocked += 1
      waits.clear()
      surveyIsDue = true
      unlocker.unlocked()
      resumeAll()
    } else {
      vault.forget()
      listed = [:]
    }
    guard isLocked != wasLocked else { return }
    for collection in book.collections where collection.name != CollectionState.session {
      announcer.tellLock(collection, isLocked: isLocked)
    }
  }

  /// Records the collections, and signals differences.
  func note(_ new: CollectionBook) {
    let old = book
    book = new
    announcer.tell(from: old, to: new)
  }

  /// Runs `body` once the collections are known: only the vault knows those from earlier sessions.
  ///
  /// - Parameter isNeeded: whether `body` needs them; otherwise it also runs while the vault stays locked.
  func knowingBook(_ message: BusMessage, isNeeded: Bool = true, _ body: @escaping () throws(Refusal) -> Void) throws(Refusal) {
    guard !book.isRead, isNeeded || !isLocked else { return try body() }
    try ask(message, waits: isNeeded || settings.hasOwnKey, isQuick: true) { (vault) throws(Refusal) in
      try vault.book()
    } _: { [self] (book) throws(Refusal) in
      note(book)
      try body()
    } otherwise: { (refusal) throws(Refusal) in
      guard !isNeeded, refusal.isForUnlocking else { throw refusal }
      try body()
    }
  }

  /// Surveys take at most one part in this of the time: with many items each takes some milliseconds.
  private static let surveyShare = 10

  func startDueSurvey() {
    guard surveyIsDue, !surveyIsRunning, isUnlocked, ContinuousClock.now >= nextSurvey else { return }
    (surveyIsDue, surveyIsRunning) = (false, true)
    let (vault, inbox) = (vault, inbox)
    queue.async {
      let start = ContinuousClock.now
      var survey: Survey?
      // Clients get the error on request.
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
    // Not at each change: the signal has all paths, and thousands of items may change in turn.
    for collection in book.collections where survey.items[collection.name] != listed[collection.name] {
      announcer.tellItems(survey.items[collection.name] ?? [], of: collection.name)
    }
    listed = survey.items
  }
}
