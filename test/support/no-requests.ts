import type { RequestHistory } from '#contract/request-history.ts'

/** A gateway that has served no request. */
export const noRequests: RequestHistory = {
  find: async () => undefined,
  list: async () => [],
  watch: () => () => undefined,
  capture: async () => undefined,
  replay: async () => undefined,
}
