// Decoding one token at a time, as src/text/src/stream.rs does natively.

const REPLACEMENT = '\ufffd'; // what decoding yields for bytes that are not (yet) a character
// A character spans at most four tokens. More are held so that invalid bytes look as in one piece, but not without end:
// the cost of a step grows with what is held.
const MOST_HELD = 32;

/**
 * Yields text as soon as its characters are complete.
 *
 * What a token decodes to depends on the tokens before it: the first word loses its space, and a character may be split
 * over tokens. So each step decodes a short window, the tokens shown last and those held back, and yields what the window
 * says beyond the tokens shown. The cost of a step does not grow with the length of the answer.
 */
export class TextStream {
  private window: number[] = [];
  private shown = 0; // how many tokens of the window were yielded before
  private shownText = ''; // and theirs

  /** `decode` gives the text of one token or more, without special ones. */
  constructor(private readonly decode: (tokens: number[]) => string) {}

  /** The text that `token` completes; empty while a character is incomplete. */
  push(token: number): string {
    this.window.push(token);
    const all = this.decode(this.window);
    const held = this.window.length - this.shown;
    if (all === this.shownText && held === 1) {
      this.window.pop(); // a special token; as the window's only one it would take the next word's space
      return '';
    }
    const text = this.unseen(all);
    if ((text === '' || text.endsWith(REPLACEMENT)) && held <= MOST_HELD) return '';
    this.window.splice(0, this.shown);
    this.shown = this.window.length;
    this.shownText = this.decode(this.window);
    return text;
  }

  /** What is still held back, with U+FFFD for incomplete characters. */
  end(): string {
    return this.window.length > this.shown ? this.unseen(this.decode(this.window)) : '';
  }

  private unseen(all: string): string {
    if (all.startsWith(this.shownText)) return all.slice(this.shownText.length);
    // An invalid byte spoils the characters beside it in some decoders; text that was shown stays shown.
    return this.decode(this.window.slice(this.shown));
  }
}
