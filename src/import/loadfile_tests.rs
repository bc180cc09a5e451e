use super::*;

fn mistake(text: &str) -> String {
    read(text.as_bytes()).expect_err(text).to_string()
}

const OPEN: &str = "NTCreateX \"\\a\\b.txt\" 0x40 0x2 9938 NT_STATUS_OK\n";

fn opened(line: &str) -> Stream {
    read(format!("{OPEN}{line}\n").as_bytes()).expect(line)
}

#[test]
fn a_line_is_an_operation_with_its_handle_and_paths_found() {
    let stream = opened("WriteX 9938 65536 510 510 NT_STATUS_OK\nClose 9938 NT_STATUS_OK");
    assert_eq!(stream.full(stream.entries[0].a), "a/b.txt");
    assert_eq!(stream.entries[0].b, opens::CREATE);
    assert_eq!((stream.entries[0].handle, stream.entries[1].handle), (0, 0));
    assert_eq!(stream.range(&stream.entries[1]), [65536, 510, 510]);
    assert_eq!((stream.largest, stream.bytes, stream.footprint), (510, (0, 510), 66046));
}

#[test]
fn blanks_quotes_comments_times_and_cases_are_understood() {
    for line in [
        "  Flush\t9938   NT_STATUS_OK  # made safe",
        "FLUSH 9938 nt_status_ok",
        "flush 0x26d2 0x0",
        "Flush \"9938\" 0x00000000\r",
    ] {
        let stream = opened(line);
        assert_eq!(stream.entries[1].kind, Kind::Fsync, "{line}");
        assert!(stream.entries[1].succeeds(), "{line}");
    }
    let stream = opened("1.5 Flush 9938 0xC0000034");
    assert_eq!((stream.entries[1].kind, stream.entries[2].kind), (Kind::NotBefore, Kind::Fsync));
    assert_eq!(stream.wide[stream.entries[1].a as usize][0], 1_500_000_000);
    assert!(!stream.entries[2].succeeds());
    let stream = opened("# nothing\n\nUnlink \"/A B\\c #1\" 0x6 NT_STATUS_NO_SUCH_FILE");
    assert_eq!(stream.full(stream.entries[1].a), "A B/c #1");
}

#[test]
fn entries_know_the_lines_they_are_from() {
    let text = format!("# a comment\n{OPEN}Flush 9938 0x0\n\n1.5 Flush 9938 0x0\nClose 9938 0x0\n\n\n{OPEN}");
    let stream = read(text.as_bytes()).unwrap();
    let lines: Vec<usize> = (0..stream.entries.len()).map(|entry| stream.line(entry)).collect();
    assert_eq!(lines, [2, 3, 5, 5, 6, 9]);
    // Where no line is left out, they take no room.
    assert_eq!(opened("Flush 9938 0x0\nFlush 9938 0x0").lines, [(0, 1)]);
}

#[test]
fn what_does_not_fit_an_entry_is_kept_beside_it() {
    let stream = opened("ReadX 9938 10000000000 4096 17 NT_STATUS_OK\nLockX 9938 2147483538 1 NT_STATUS_OK");
    assert_eq!(stream.range(&stream.entries[1]), [10_000_000_000, 4096, 17]);
    assert_eq!(stream.range(&stream.entries[2]), [2_147_483_538, 1, 1]);
    assert_eq!(stream.wide.len(), 1);
}

#[test]
fn a_handle_is_free_again_when_it_is_closed_and_none_when_the_open_fails() {
    let text = format!("{OPEN}Close 9938 NT_STATUS_OK\n{}Close 7 NT_STATUS_OK\n", OPEN.replace("9938", "7"));
    assert_eq!(read(text.as_bytes()).unwrap().handles, 1);
    let failed = "NTCreateX \"\\a\" 0x40 0x1 5 NT_STATUS_OBJECT_NAME_NOT_FOUND\n";
    assert_eq!(read(failed.as_bytes()).unwrap().entries[0].handle, NO_HANDLE);
    assert!(
        mistake(&format!("{failed}Close 5 NT_STATUS_OK\n")).starts_with("2:7: handle 5 is not open here")
    );
}

#[test]
fn mistakes_have_a_place_what_was_read_and_what_is_allowed() {
    let long = format!("Mkdir \"\\{}\" NT_STATUS_OK\n", "x".repeat(100));
    let far = format!("# {}\n", "x".repeat(1100));
    let many = format!("Mkdir{}\n", " x".repeat(20));
    for (line, wanted) in [
        ("Frobnicate 1 NT_STATUS_OK\n", "1:1: unknown operation \"Frobnicate\"; the operations are ReadX"),
        ("\nReadX 5 0 1 1 NT_STATUS_OK\n", "2:7: handle 5 is not open here; an NTCreateX"),
        ("Mkdir \"\\a\"", "1:11: the line is cut short: 1 of Mkdir's 2; it takes path, status"),
        ("Mkdir \"\\a NT_STATUS_OK\n", "1:7: a quote that nothing closes"),
        ("Mkdir \"\\a\" NT_STATUS_OK 5\n", "1:25: too many words"),
        ("Mkdir \"\\a\" SUCCESS\n", "1:12: unknown status \"SUCCESS\"; a line ends with NT_STATUS_OK"),
        ("Mkdir \"\\a\" NT_STATUS_\n", "1:12: unknown status"),
        ("Mkdir \"\\a\\..\\b\" NT_STATUS_OK\n", "1:7: the path \"\\\\a\\\\..\\\\b\" has \"..\" in it"),
        ("Mkdir a NT_STATUS_OK\n", "1:7: \"a\" where a path stands"),
        ("Mkdir \"\\a\0b\" NT_STATUS_OK\n", "1:10: a zero byte"),
        ("Sleep soon NT_STATUS_OK\n", "1:7: \"soon\" where a number stands"),
        ("NTCreateX \"\\a\" 0x40 0x9 5 NT_STATUS_OK\n", "1:21: disposition 9"),
        ("1x Mkdir \"\\a\" NT_STATUS_OK\n", "1:1: \"1x\" where an operation or its earliest time stands"),
        (&long, "1:7: a word of 101 bytes; at most 99"),
        (&far, "1:1: a line of 1102 bytes; at most 1023"),
        (&many, "1:43: more than 19 words"),
        ("# nothing\n", "1:1: no operation in the whole file"),
    ] {
        let found = mistake(line);
        assert!(found.starts_with(wanted), "{line:?}: {found}");
    }
    let most = format!("{OPEN}WriteX 9938 0 67108865 67108865 NT_STATUS_OK\n");
    assert!(mistake(&most).contains("a transfer of 67108865 bytes; up to 67108864"));
    assert!(read(b"Mkdir \"\\a\" \xff\n").is_err());
}

#[test]
fn handles_are_as_many_as_the_original_has() {
    let lines = |n: usize| -> String { (0..n).map(|i| OPEN.replace("9938", &(i + 1).to_string())).collect() };
    assert_eq!(read(lines(MOST_HANDLES).as_bytes()).unwrap().handles, 200);
    assert!(mistake(&lines(MOST_HANDLES + 1)).contains("more than 200 handles"));
}
