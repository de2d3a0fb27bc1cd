/** Codes of what a picture is refused with. */
export const stillFaults = ['still.none', 'still.unavailable', 'still.busy', 'still.failed'] as const;
