# SPDX-License-Identifier: MIT
# Completion of redlock(1) for fish: our options first, then the command and
# its own arguments as if redlock were not there; or a verb, its options and the
# keys of locks that exist. scripts/check-docs.sh reads the lines of verbs and
# options: -x or -r means that the option takes a value.

# `run`, which is the form with a command, or a verb.
function __redlock_form
    set -l words (commandline -opc)
    if test (count $words) -gt 1; and not string match -q -- '-*' $words[2]
        echo $words[2]
    else
        echo run
    end
end

function __redlock_first
    test (count (commandline -opc)) = 1
end

# Whether an option of these forms, or of all, can follow here.
function __redlock_takes
    set -l form (__redlock_form)
    if test $form = run
        __redlock_in_options; or return 1
    end
    test "$argv" = all; or contains -- $form $argv
end

# Whether the operands are keys: of all verbs but these.
function __redlock_wants_key
    set -l form (__redlock_form)
    test $form != run; and not contains -- $form $argv
end

# The keys of all locks, if the servers of this command line tell them at once.
# A key that JSON writes with a backslash is left out.
function __redlock_keys
    set -l words (commandline -opc)
    set -l from
    for i in (seq 2 (count $words))
        switch $words[$i]
            case -u --url
                set -a from $words[$i..(math $i + 1)]
            case '-u*' '--url=*'
                set -a from $words[$i]
        end
    end
    timeout 1 $words[1] list --json -q $from 2>/dev/null </dev/null |
        string match -arg '"key":"([^"\\\\]*)"'
end

# Status 0: the command has begun, its words are printed without the one that
# is being typed. 1: that one is an option or the command itself. 2: it is the
# value of an option, or nothing can follow.
function __redlock_command
    set -l words (commandline -opc)
    # values begin
    set -l valued --key --ttl --wait --slots --max-waiters --priority --grace --conflict-exit-code --command --max-hold --max-renewals --min-hold --once-per --once-for --revision --once-counts --kill-after --signal --orphans --restart-guard --wait-replicas --on-unavailable --reason --result-file --url --node-timeout --user --password-file --password-command --cacert --cacertdir --cert --key-file --sni --tls-verify --color --log-format
    set -l letters ktwNEcKu
    # values end
    set -l text 0
    set -l i 2
    while test $i -le (count $words)
        set -l w $words[$i]
        switch $w
            case '-c*' --command '--command=*'
                set text 1
        end
        # (not by a wildcard: ? is one in fish 3 and none in fish 4)
        if not string match -qr -- '^-.' $w
            test $text = 1; and return 2
            printf '%s\n' $words[$i..-1]
            return 0
        end
        switch $w
            case --
                test $text = 1; and return 2
                set i (math $i + 1)
                test $i -le (count $words); and printf '%s\n' $words[$i..-1]
                return 0
            case '--*=*'
                set i (math $i + 1)
            case '--*'
                contains -- $w $valued; and set i (math $i + 1)
                set i (math $i + 1)
            case '-*'
                # -nk KEY and -kKEY: the first letter with a value ends it
                string match -qr -- "^-[^$letters]*[$letters]\$" $w
                and set i (math $i + 1)
                set i (math $i + 1)
        end
    end
    test $i -gt (math (count $words) + 1); and return 2
    test $text = 1; and not string match -q -- '-*' (commandline -ct); and return 2
    return 1
end

function __redlock_in_options
    __redlock_command >/dev/null
    test $status != 0
end

function __redlock_in_command
    __redlock_first; and return 1
    test (__redlock_form) = run; or return 1
    __redlock_command >/dev/null
    set -l where $status
    test $where = 0; and return 0
    test $where = 1; and not string match -q -- '-*' (commandline -ct)
end

function __redlock_delegate
    set -l words (__redlock_command | string escape)
    complete -C (string join -- " " $words (commandline -ct))
end

complete -c redlock -f
complete -c redlock -n __redlock_in_command -x -a '(__redlock_delegate)'
complete -c redlock -n '__redlock_wants_key list top' -x -a '(__redlock_keys)'

# ---- the verbs ----
complete -c redlock -n __redlock_first -x -a lock -d 'Takes a lock, and prints its token for unlock and extend'
complete -c redlock -n __redlock_first -x -a unlock -d 'Releases a lock, given its token'
complete -c redlock -n __redlock_first -x -a extend -d 'Renews the lease of a lock, given its token'
complete -c redlock -n __redlock_first -x -a inspect -d 'Shows who holds a lock, who waits, and any problems'
complete -c redlock -n __redlock_first -x -a list -d 'Shows the locks that are held or waited for'
complete -c redlock -n __redlock_first -x -a top -d 'Shows the locks live, on the whole screen'
complete -c redlock -n __redlock_first -x -a wait -d 'Waits until nobody holds a lock, without taking it'
complete -c redlock -n __redlock_first -x -a force-release -d 'Takes a lock away, after asking its holder to stop'
complete -c redlock -n __redlock_first -x -a history -d 'Shows the latest holds: who, when, how long, how it ended'
complete -c redlock -n __redlock_first -x -a doctor -d 'Checks whether servers are suitable, and says what to do'

# ---- the options ----
complete -c redlock -n '__redlock_takes run lock unlock extend inspect wait force-release history doctor' -s k -l key -x -a '(__redlock_keys)' -d 'The Redis key that is the lock'
complete -c redlock -n '__redlock_takes run lock extend doctor' -s t -l ttl -x -a '10s 30s 1m 5m' -d 'Lease length, 200ms..24h'
complete -c redlock -n '__redlock_takes run lock extend doctor' -l allow-long-ttl -d 'Let -t exceed 24h'
complete -c redlock -n '__redlock_takes run lock unlock extend wait' -s w -l wait -x -d 'Give up after DUR'
complete -c redlock -n '__redlock_takes run lock' -s n -l no-wait -d 'Fail rather than wait'
complete -c redlock -n '__redlock_takes run lock' -s s -l shared -d 'Share the lock with other readers'
complete -c redlock -n '__redlock_takes run lock' -s x -l exclusive -d 'Hold the lock alone'
complete -c redlock -n '__redlock_takes run lock' -s N -l slots -x -d 'Allow N holders at a time; or a,b,c'
complete -c redlock -n '__redlock_takes run lock' -l max-waiters -x -d 'Give up if N others are already waiting'
complete -c redlock -n '__redlock_takes run lock' -l supersede -d 'Replace older waiters that also use this'
complete -c redlock -n '__redlock_takes run lock' -l replace -d 'Ask the holder to stop; the newest runs'
complete -c redlock -n '__redlock_takes run lock' -l priority -x -a 'normal high' -d 'High: pass those who wait less than 1m'
complete -c redlock -n '__redlock_takes run lock force-release' -l grace -x -a '10s 30s 1m' -d 'Time for the holder to stop'
complete -c redlock -n '__redlock_takes run lock wait' -s E -l conflict-exit-code -x -d 'Status when not acquired'
complete -c redlock -n '__redlock_takes run' -s c -l command -x -d 'Run TEXT with $SHELL -c'
complete -c redlock -n '__redlock_takes run lock' -l max-hold -x -d 'End the command after DUR, status 124'
complete -c redlock -n '__redlock_takes run lock' -l max-renewals -x -d 'Same, after N renewals'
complete -c redlock -n '__redlock_takes run' -l min-hold -x -d 'Keep the lock for at least DUR'
complete -c redlock -n '__redlock_takes run' -l once-per -x -d 'Skip the run if one succeeded within DUR'
complete -c redlock -n '__redlock_takes run' -l once-for -x -d 'Skip the run if the last success had LABEL'
complete -c redlock -n '__redlock_takes run' -l revision -x -d 'Skip the run if a larger N succeeded before'
complete -c redlock -n '__redlock_takes run' -l once-counts -x -a 'success any' -d 'Which runs leave these marks'
complete -c redlock -n '__redlock_takes run lock' -s K -l kill-after -x -d 'Time from TERM to KILL'
complete -c redlock -n '__redlock_takes run' -l signal -x -a 'TERM INT HUP QUIT USR1 USR2' -d 'What to end the command with'
complete -c redlock -n '__redlock_takes run' -l orphans -x -a 'leave wait kill' -d 'What to do with leftover processes'
complete -c redlock -n '__redlock_takes run lock doctor' -l restart-guard -x -a 'auto off' -d 'Ignore servers up for less than DUR'
complete -c redlock -n '__redlock_takes run lock doctor' -l wait-replicas -x -d 'Require N replicas to have the lock'
complete -c redlock -n '__redlock_takes run' -l on-unavailable -x -a 'fail run' -d 'What to do if no server answers'
complete -c redlock -n '__redlock_takes run lock force-release' -l reason -x -d 'Shown to others while the lock is held'
complete -c redlock -n '__redlock_takes run lock' -l no-describe -d 'Do not tell others who holds the lock'
complete -c redlock -n '__redlock_takes run lock unlock' -l no-history -d 'Do not record this in the lock\'s history'
complete -c redlock -n '__redlock_takes run' -l result-file -r -F -d 'Write the outcome to FILE as one JSON line'
complete -c redlock -n '__redlock_takes all' -s u -l url -x -a 'redis:// rediss:// valkey:// valkeys:// unix:/// local: redis-sentinel:// rediss-sentinel:// redis-cluster:// rediss-cluster://' -d 'Redis://..., local:; repeat for a quorum'
complete -c redlock -n '__redlock_takes all' -l node-timeout -x -d 'Time to connect and to get an answer'
complete -c redlock -n '__redlock_takes all' -l user -x -d 'ACL user'
complete -c redlock -n '__redlock_takes all' -l password-file -r -F -d 'Read the password from FILE'
complete -c redlock -n '__redlock_takes all' -l password-command -x -d 'Run COMMAND, which prints the password'
complete -c redlock -n '__redlock_takes all' -l askpass -d 'Ask for the password on the terminal'
complete -c redlock -n '__redlock_takes all' -l cacert -r -F -d 'TLS: the CA certificates to trust'
complete -c redlock -n '__redlock_takes all' -l cacertdir -x -a '(__fish_complete_directories)' -d 'Same, a directory with hashed names'
complete -c redlock -n '__redlock_takes all' -l cert -r -F -d 'TLS: the client certificate'
complete -c redlock -n '__redlock_takes all' -l key-file -r -F -d 'TLS: its private key'
complete -c redlock -n '__redlock_takes all' -l sni -x -d 'TLS: the name to ask for and verify'
complete -c redlock -n '__redlock_takes all' -l tls-verify -x -a 'full ca none' -d 'TLS: what to verify'
complete -c redlock -n '__redlock_takes all' -l shared-scope -d 'Refuse servers only this machine can reach'
complete -c redlock -n '__redlock_takes all' -s q -l quiet -d 'Errors only'
complete -c redlock -n '__redlock_takes all' -s v -l verbose -d 'Say what happens; -vv: every server answer'
complete -c redlock -n '__redlock_takes all' -l color -x -a 'auto always never' -d 'Color in messages'
complete -c redlock -n '__redlock_takes all' -l log-format -x -a 'text json' -d 'Form of the messages'
complete -c redlock -n '__redlock_takes all' -s h -l help -d 'Show this'
complete -c redlock -n '__redlock_takes all' -s V -l version -d 'Show versions; with -v, also settings'
complete -c redlock -n '__redlock_takes lock' -l hold -d 'Stay, and renew it until Ctrl-C'
complete -c redlock -n '__redlock_takes lock' -l keep-for -x -a '(__fish_complete_pids)' -d 'Renew it while process PID lives'
complete -c redlock -n '__redlock_takes lock' -l on-lost -x -a 'TERM HUP INT KILL USR1 USR2 QUIT none' -d 'Signal it before the lease is lost'
complete -c redlock -n '__redlock_takes lock' -l export -d 'Print shell code that sets REDLOCK_TOKEN...'
complete -c redlock -n '__redlock_takes unlock extend inspect force-release' -l token -x -d 'Of a hold, as lock prints it'
complete -c redlock -n '__redlock_takes inspect' -l max-age -x -a '1h 2h 1d' -d 'Check: status 2 if it is held for longer'
complete -c redlock -n '__redlock_takes inspect list top wait history doctor' -l json -d 'Print JSON'
complete -c redlock -n '__redlock_takes list' -l prometheus -d 'Print metrics in Prometheus text format'
complete -c redlock -n '__redlock_takes list top' -l held -d 'Only locks that somebody holds'
complete -c redlock -n '__redlock_takes list top' -l waiting -d 'Only locks that somebody waits for'
complete -c redlock -n '__redlock_takes force-release' -l confirm -x -a '(__redlock_keys)' -d 'The key again, to confirm'
complete -c redlock -n '__redlock_takes force-release' -l slot -x -d 'Only the holder of this slot'
complete -c redlock -n '__redlock_takes force-release' -l marks -d 'Forget --once-per, --once-for, --revision'
complete -c redlock -n '__redlock_takes force-release' -l now -d 'Take it without asking'
complete -c redlock -n '__redlock_takes force-release' -l foreign -d 'Also delete a key that is not a redlock lock'
complete -c redlock -n '__redlock_takes history' -l since -x -a '1h 1d 7d' -d 'Only holds that ended within DUR'
complete -c redlock -n '__redlock_takes history' -l last-success -x -a '1h 25h 8d' -d 'Check: status 2 if no success within DUR'
complete -c redlock -n '__redlock_takes history' -l svg -d 'Print a picture, in SVG'
complete -c redlock -n '__redlock_takes doctor' -l config -d 'Only check and print the settings'
