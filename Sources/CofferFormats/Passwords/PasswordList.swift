/// Common first choices of passwords, from common knowledge, roughly by frequency. A guesser begins with these.
enum PasswordList {
  static let words: [Substring] = text.split { $0 == " " || $0 == "\n" }

  private static let text = """
    123456 123456789 qwerty password 111111 12345678 abc123 1234567 password1 12345 1234567890 123123 000000 iloveyou 1234
    1q2w3e4r5t qwertyuiop 123 monkey dragon 123456a 654321 123321 666666 1qaz2wsx 121212 123qwe a123456 123abc 1q2w3e4r
    qwe123 7777777 qwerty123 987654321 qwerty1 222222 zxcvbnm 555555 fuckyou 112233 asdfghjkl 1q2w3e 123123123 qazwsx
    computer princess 12345a ashley michael football sunshine 1234qwer iloveyou1 aaaaaa fuckyou1 daniel 777777 princess1
    123654 11111 asdfgh 999999 11111111 888888 love abcd1234 shadow football1 love123 superman jordan23 jessica monkey1
    12qwaszx a12345 baseball killer asdf samsung master azerty charlie asd123 soccer 88888888 jordan michelle thomas andrew
    hunter hunter2 liverpool nicole justin joshua 0123456789 batman robert trustno1 welcome welcome1 letmein login admin
    administrator root toor guest test test123 changeme secret default pass passw0rd starwars whatever hello hello123
    freedom flower cheese pepper ginger summer winter autumn spring orange banana cookie pokemon naruto blink182 metallica
    chelsea arsenal everton rangers mustang ferrari mercedes corvette harley yamaha matrix qazwsxedc asdasd asdfasdf zxcvbn
    q1w2e3r4 access master123 internet service server oracle mysql postgres ubuntu raspberry passwort passwd jennifer bailey
    zaq12wsx testing user google apple linux debian windows system vault coffer key lovely baby angel matthew george ranger
    buster hockey chocolate purple silver golden diamond thunder tigger yankees dallas london berlin paris merlin maggie
    amanda sophie hannah jasmine donald solo qwertz geheim hallo schatz soleil bonjour doudou motdepass marina contrase hola
    amor tequiero teste senha correct horse battery staple
    """
}
