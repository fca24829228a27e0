/** Levels of the agent's log, most talkative first. */
export const agentLogLevels = ['debug', 'info', 'warn', 'error', 'crit', 'silent'] as const
