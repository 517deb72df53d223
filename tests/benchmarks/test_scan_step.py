import scan_step
import torch


def test_smoke(capsys):
    threads = torch.get_num_threads()
    scan_step.main(smoke=True)
    torch.set_num_threads(threads)
    printed = capsys.readouterr().out
    assert "ours float32" in printed and "bar 1.3x" in printed and "bar 2.0x" in printed


def test_both_networks_have_the_same_parameters():
    plain, ours = scan_step.PlainTransformer(13, 6), scan_step.EncoderDecoder(13, 6)
    counts = [sum(p.numel() for p in model.parameters()) for model in (plain, ours)]
    assert counts == [365_831] * 2


def test_parts_of_similar_lengths_have_less_padding():
    batches = scan_step.draw_batches(scan_step.TASK.examples("validation"), 64, 8)
    assert scan_step.mean_columns(batches, 4) < 0.7 * scan_step.mean_columns(batches, 1)
