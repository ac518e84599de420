/** Where a daemon answers when nobody says otherwise. */
export const DEBUG_SOCKET = '/var/run/eni/eni_debug.socket';
