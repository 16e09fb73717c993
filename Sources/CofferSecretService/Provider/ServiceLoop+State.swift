internal import CofferAgent
internal import CofferPlatform
internal import Dispatch

// The knowledge of the vault, which others change too.
extension ServiceLoop {
  /// Notes the current state of the agent's vault.
  func note(_ now: AgentMoment?) {
    // The watch and who looks after an attempt hear of it by two ways, of which either may be the slower.
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

  /// Takes note of the collections, and tells what differs.
  func note(_ new: CollectionBook) {
    let old = book
    book = new
    announcer.tell(from: old, to: new)
  }

  /// Does `body` once the collections are known: those that clients of earlier sessions made are in the vault alone.
  ///
  /// - Parameter isNeeded: whether nothing can be said without; otherwise a vault that stays locked is no obstacle.
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

  /// Of the time, the most that looking for changes takes: with many items it takes some milliseconds each.
  private static let surveyShare = 10

  /// Looks for changes by others, on the queue.
  func startDueSurvey() {
    guard surveyIsDue, !surveyIsRunning, isUnlocked, ContinuousClock.now >= nextSurvey else { return }
    (surveyIsDue, surveyIsRunning) = (false, true)
    let (vault, inbox) = (vault, inbox)
    queue.async {
      let start = ContinuousClock.now
      var survey: Survey?
      // Clients get the error when they ask.
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
    // Here and not with each change: all paths are told, and one of thousands may change after the other.
    for collection in book.collections where survey.items[collection.name] != listed[collection.name] {
      announcer.tellItems(survey.items[collection.name] ?? [], of: collection.name)
    }
    listed = survey.items
  }
}
