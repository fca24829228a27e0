import { Help } from 'commander'

/** Descriptions of longer terms, and of all terms on a narrow terminal, begin on a line of their own. */
const LONGEST_TERM = 30
const LEAST_ROOM = 32
const INDENT = ' '.repeat(6)
const MARGINS = 4
const USUAL_COLUMNS = 80

/** Help that breaks lines between words, however long the flags are and however narrow the terminal is. */
export const helpLayout: Partial<Help> = {
  minWidthToWrap: 20,
  padWidth: (command, helper) =>
    Math.min(LONGEST_TERM, Help.prototype.padWidth.call(helper, command, helper)),
  formatItem(term, termWidth, description, helper) {
    const columns = helper.helpWidth ?? USUAL_COLUMNS
    const isBeside = helper.displayWidth(term) <= termWidth && columns - termWidth - MARGINS >= LEAST_ROOM
    if (isBeside || description === '')
      return Help.prototype.formatItem.call(helper, term, termWidth, description, helper)
    const lines = helper.boxWrap(description, columns - INDENT.length).split('\n')
    return [`  ${term}`, ...lines.map(line => INDENT + line)].join('\n')
  },
}
