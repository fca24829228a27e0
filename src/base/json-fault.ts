// Node quotes the text around the fault: Unexpected token 'h', ..."secret": hush"... is not valid JSON
const QUOTED = /(?:^|, )(?:\.\.\.)?".*$/s

/** Why a text is no JSON, without any of the text: it may hold a secret. */
export const jsonFault = (error: unknown): string =>
  (error instanceof Error && error.message.replace(QUOTED, '')) || 'it is not JSON'
